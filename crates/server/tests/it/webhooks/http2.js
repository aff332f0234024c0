// A receiver that speaks only HTTP/2. It prints its address and then each call.
import http2 from "node:http2";

const server = http2.createSecureServer({ cert: process.env.CERT, key: process.env.KEY, allowHTTP1: false });
const answers = {
  "/ok?a=b": (stream) => stream.respond({ ":status": 204 }, { endStream: true }),
  "/later": (stream) => stream.respond({ ":status": 503, "retry-after": "60" }, { endStream: true }),
  "/reset": (stream) => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR),
  "/heads": (stream) => {
    const heads = Array.from({ length: 300 }, (_, number) => [`x-${number}`, "y".repeat(1000)]);
    stream.respond({ ":status": 200, ...Object.fromEntries(heads) }, { endStream: true });
  },
  "/endless": (stream) => {
    stream.respond({ ":status": 200 });
    const more = () => { while (!stream.destroyed && stream.write("z".repeat(65536))); };
    stream.on("drain", more);
    more();
  },
};
server.on("stream", (stream, headers) => {
  let body = "";
  stream.on("error", () => {});
  stream.on("data", (data) => (body += data));
  stream.on("end", () => {
    console.log(JSON.stringify({ headers, body }));
    answers[headers[":path"]](stream);
  });
});
server.on("sessionError", () => {});
server.listen(0, "127.0.0.2", () => console.log(server.address().port));
