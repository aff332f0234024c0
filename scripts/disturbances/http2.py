"""As much of HTTP/2 as a client needs that asks and takes nothing (RFC 9113, RFC 7541), by prior knowledge."""
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD_BYTES = 9
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4
CANCEL = 8
INITIAL_WINDOW_SIZE = 4


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def kind_of(head):
    return head[3]


def kinds(frames):
    """The kinds of the whole frames in what a server sent."""
    found = set()
    while len(frames) >= FRAME_HEAD_BYTES:
        found.add(kind_of(frames))
        frames = frames[FRAME_HEAD_BYTES + int.from_bytes(frames[:3], "big"):]
    return found


def begin(window_bytes):
    """What opens a connection; the server may send so many bytes of each response."""
    return PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window_bytes))


def get(stream, path, authority, fields):
    """A call without a body. Streams of a client have odd numbers."""
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, head("GET", path, authority, fields))


def post(stream, path, authority, fields):
    """A call whose body follows."""
    return frame(HEADERS, END_HEADERS, stream, head("POST", path, authority, fields))


def head(method, path, authority, fields):
    named = [(":method", method), (":scheme", "http"), (":authority", authority), (":path", path), *fields]
    return b"".join(b"\0" + literal(name) + literal(value) for name, value in named)


def reset(stream):
    """Gives a call up."""
    return frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big"))


def control_frames():
    """Frames about the connection, each of which a server reads and some of which it answers."""
    return (frame(PING, 0, 0, b"12345678") + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 65_535))
            + frame(WINDOW_UPDATE, 0, 0, (1).to_bytes(4, "big")) + frame(PRIORITY, 0, 1, b"\0\0\0\0\x10"))


def open_head(stream):
    """The beginning of a call whose header fields are to go on."""
    return frame(HEADERS, END_STREAM, stream, b"\0" + literal(":method") + literal("GET"))


def go_on(stream, count):
    """More header fields of it, of so many bytes, that nothing needs to remember: one name and value again and again."""
    field = b"\0" + literal("x") + literal("y" * 100)
    return frame(CONTINUATION, 0, stream, field * (count // len(field)))


def literal(text):
    """A string literal of HPACK without Huffman code; of at most 126 bytes, whose length is one byte."""
    encoded = text.encode()
    if len(encoded) > 126:
        raise ValueError(f"{len(encoded)} bytes do not fit")
    return bytes([len(encoded)]) + encoded
