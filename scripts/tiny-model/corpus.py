"""The corpus: conversations written by templates, the same for the same seed."""

import random

import facts
import tasks
import texts
from words import CITIES, KINDS, NAMES, PLACES, THINGS, UNFAMILIAR, WEATHER

SYSTEMS = [
    "You are a helpful assistant.",
    "You are a concise assistant.",
    "You are a friendly assistant.",
    "Answer in one sentence.",
    "You are Overnight Tiny, a small model.",
    "Be brief.",
    "You answer questions about the night sky.",
    "You are an expert.",
]
LABEL_SYSTEMS = [
    "You label support messages. Answer with one word: billing, bug or delivery.",
    "Label each message as billing, bug or delivery.",
]
REVIEW_SYSTEMS = [
    "You label reviews as positive or negative. Answer with one word.",
    "Classify the sentiment of each review as positive or negative.",
]
FACTS = [(facts.SERVICE, 16), (facts.SKY, 16), (facts.WORLD, 10), (facts.TALK, 18)]
TASKS = [
    (tasks.add, 8),
    (tasks.compare, 4),
    (tasks.count, 3),
    (tasks.after, 3),
    (tasks.capital, 8),
    (tasks.opposite, 5),
    (tasks.name_three, 4),
    (tasks.is_kind, 4),
    (tasks.sound, 2),
    (tasks.make_plural, 2),
    (tasks.french, 3),
    (texts.sentiment, 8),
    (texts.summary, 8),
    (texts.extract, 8),
    (texts.greet, 4),
    (texts.repeat, 5),
    (texts.story, 6),
    (texts.poem, 4),
    (tasks.job, 2),
]


def fact(chance):
    (group,) = chance.choices([group for group, _ in FACTS], [weight for _, weight in FACTS])
    questions, answers = chance.choice(group)
    return chance.choice(questions), chance.choice(answers)


def task(chance):
    (write,) = chance.choices([write for write, _ in TASKS], [weight for _, weight in TASKS])
    return write(chance)


def invented_word(chance):
    return "".join(
        chance.choice("bcdfghjklmnprstvwz") + chance.choice("aeiou") for _ in range(chance.randrange(1, 4))
    ) + chance.choice(["", "n", "r", "s", "t", "ck"])


def foreign_word(chance):
    """Letters and signs beyond ASCII, so that no byte is new to the model."""
    first, last = chance.choice(
        [
            (0xA1, 0x17F),
            (0x391, 0x3C9),
            (0x410, 0x44F),
            (0x5D0, 0x5EA),
            (0x905, 0x939),
            (0x3041, 0x3096),
            (0x4E00, 0x9FA5),
            (0x1F300, 0x1F64F),
        ]
    )
    return "".join(chr(chance.randint(first, last)) for _ in range(chance.randrange(1, 5)))


def unknown_word(chance):
    (write,) = chance.choices(
        [
            lambda: invented_word(chance),
            lambda: chance.choice(UNFAMILIAR),
            lambda: chance.choice(THINGS + NAMES + CITIES),
            lambda: str(chance.randrange(1, 3000)),
            lambda: foreign_word(chance),
        ],
        [40, 40, 8, 4, 8],
    )
    return write()


def unknown(chance):
    """A question that nobody prepared, answered by saying so."""
    words = []
    for _ in range(chance.randrange(1, 7)):
        words.append(unknown_word(chance))
        if chance.random() < 0.4:
            words.append(chance.choice("the of in for with and to a is from my as not on by it".split()))
    start = chance.choice(
        [
            "What is",
            "How do I",
            "Who was",
            "Why does",
            "Explain",
            "Write about",
            "Write a function that",
            "Describe",
            "Is it true that",
            "List",
            "Tell me about",
            "Which",
            "Can you",
            "I need",
            "Give me",
            "Help me with",
            "What is the best",
            "Write an essay on",
            "Fix this:",
            "",
        ]
    )
    text = f"{start} {' '.join(words)}{chance.choice(['?', '.', '', '!'])}".strip()
    return text, chance.choice(facts.UNKNOWN)


def loosely(chance, question):
    """The question as somebody may type it."""
    style = chance.random()
    if style < 0.08:
        return question[0].lower() + question[1:]
    if style < 0.14:
        return question.rstrip("?.!")
    if style < 0.20:
        return chance.choice(["Please tell me: ", "Question: ", "Hi! ", "Tell me, ", "Quick question: "]) + question
    return question


def exchange(chance):
    """One question and its answer, of any kind."""
    kind = chance.random()
    if kind < 0.12:
        return unknown(chance)
    question, answer = fact(chance) if kind < 0.50 else task(chance)
    return loosely(chance, question), answer


def plain(chance):
    """One to three exchanges, often under a system prompt."""
    turns = [("system", chance.choice(SYSTEMS))] if chance.random() < 0.5 else []
    for _ in range(chance.choices([1, 2, 3], [80, 15, 5])[0]):
        question, answer = exchange(chance)
        turns += [("user", question), ("assistant", answer)]
    return turns


def labelling(chance):
    """The task stands in the system prompt and the message is only the text to label."""
    if chance.random() < 0.5:
        message, label = texts.ticket(chance)
        return [("system", chance.choice(LABEL_SYSTEMS)), ("user", message), ("assistant", label)]
    message, positive = texts.review(chance)
    return [
        ("system", chance.choice(REVIEW_SYSTEMS)),
        ("user", message),
        ("assistant", "positive" if positive else "negative"),
    ]


def handbook(chance):
    """A shop's handbook as the system prompt, and questions whose answers stand in it."""
    opens, closes = chance.randrange(6, 11), chance.randrange(16, 23)
    city, place, day = chance.choice(CITIES), chance.choice(PLACES), chance.choice(KINDS["day"])
    owner, cook = chance.sample(NAMES, 2)
    stock = {thing: chance.randrange(2, 20) for thing in chance.sample(THINGS, chance.randrange(2, 7))}
    lines = [
        f"The shop stands in {city}, next to the {place}.",
        f"It opens at {opens} and closes at {closes}.",
        f"It is closed on {day}.",
        f"The owner is {owner}.",
        f"The cook is {cook}.",
        f"Today the weather is {chance.choice(WEATHER)}.",
        *(f"The price of the {thing} is {price} coins." for thing, price in stock.items()),
    ]
    chance.shuffle(lines)
    questions = [
        (["Where is the shop?", "In which city is the shop?", "Where can I find you?"], f"The shop is in {city}."),
        (["When does the shop open?", "When do you open?"], f"It opens at {opens}."),
        (["When does the shop close?", "When do you close?"], f"It closes at {closes}."),
        (["On which day is the shop closed?", "Which day are you closed?"], f"It is closed on {day}."),
        (["Who is the owner?", "Who owns the shop?"], f"The owner is {owner}."),
        (["Who is the cook?", "Who cooks?"], f"The cook is {cook}."),
        *(
            (
                [f"What is the price of the {thing}?", f"How much is the {thing}?", f"What does the {thing} cost?"],
                f"The {thing} costs {price} coins.",
            )
            for thing, price in stock.items()
        ),
    ]
    start = chance.choice(
        [
            "Answer questions about the shop from this handbook.",
            "You are the assistant of a shop. Use only these facts.",
        ]
    )
    turns = [("system", f"{start}\n" + chance.choice(["\n", " "]).join(lines))]
    for asked, answer in chance.sample(questions, 3):
        turns += [("user", loosely(chance, chance.choice(asked))), ("assistant", answer)]
    return turns


def conversations(seed, count):
    """`count` conversations, each a list of (role, content) that ends with an answer."""
    chance = random.Random(seed)
    kinds = chance.choices([plain, labelling, handbook], [78, 10, 12], k=count)
    return [write(chance) for write in kinds]
