"""Work on texts: reviews, summaries, extraction, labels, stories. Each function draws from a seeded generator."""

import json

from tasks import article
from words import BAD, CITIES, GOOD, KINDS, NAMES, PLACES, REVIEWED, THINGS


def review(chance):
    """A short review and whether it is positive."""
    words, positive = chance.choice([(GOOD, True), (BAD, False)])
    first, second = chance.sample(words, 2)
    thing, other = chance.sample(REVIEWED, 2)
    feeling = chance.choice(
        ["I love it", "I am very happy", "I would buy it again"]
        if positive
        else ["I want my money back", "I am not happy", "Never again"]
    )
    text = chance.choice(
        [
            f"The {thing} was {first}.",
            f"The {thing} was {first} and the {other} was {second}.",
            f"{feeling}, the {thing} is {first}!",
            f"A {first} {thing} and {second} {other}.",
            f"The {thing} is very {first}. {feeling}.",
            f"I found the {thing} {first} and {second}.",
        ]
    )
    return text, positive


def sentiment(chance):
    text, positive = review(chance)
    ask = chance.choice(
        [
            "Is this review positive or negative? {}",
            "Classify the sentiment as positive or negative: {}",
            "Sentiment of this review: {}",
            "Positive or negative? {}",
            "Label this review: {}",
            "What is the sentiment? {}",
        ]
    )
    return ask.format(chance.choice([text, f'"{text}"'])), "Positive." if positive else "Negative."


def trip(chance):
    """One person's day: its parts and three sentences about it."""
    part = {
        "name": chance.choice(NAMES),
        "city": chance.choice(CITIES),
        "day": chance.choice(KINDS["day"]),
        "thing": chance.choice(THINGS),
        "place": chance.choice(PLACES),
    }
    first = chance.choice(
        [
            "{name} went to {city} on {day}.",
            "On {day}, {name} travelled to {city}.",
            "{name} took the train to {city} on {day}.",
        ]
    )
    middle = chance.choice(
        ["The weather was fine.", "It rained all day.", "The streets were full.", "It was a quiet day."]
    )
    last = chance.choice(
        [
            "At the {place}, {name} bought {a_thing}.",
            "{name} visited the {place} and bought {a_thing}.",
            "In the {place}, {name} found {a_thing}.",
        ]
    )
    sentences = [first, last] if chance.random() < 0.4 else [first, middle, last]
    return part, " ".join(sentences).format(a_thing=article(part["thing"]), **part)


def summary(chance):
    part, text = trip(chance)
    ask = chance.choice(
        [
            "Summarise: ",
            "Summarize in one sentence: ",
            "Summarise in one sentence: ",
            "Give a short summary: ",
            "Shorten this text: ",
            "Summarize this: ",
        ]
    )
    trip_there = f"{part['name']} went to {part['city']} on {part['day']}"
    return ask + text, f"{trip_there} and got {article(part['thing'])} at the {part['place']}."


def extract(chance):
    part, text = trip(chance)
    field = chance.choice(["name", "city", "day"])
    if chance.random() < 0.3:
        ask = chance.choice(["Extract name, city and day as JSON: ", "Return JSON with name, city and day: "])
        return ask + text, json.dumps({key: part[key] for key in ("name", "city", "day")})
    ask = chance.choice([f"Extract the {field}: ", f"Which {field} is named? ", f"Find the {field} in this text: "])
    return ask + text, part[field]


def greet(chance):
    name = chance.choice(NAMES)
    ask = chance.choice(
        ["Hello, I am {}.", "Hi, my name is {}.", "Hello! I'm {}.", "My name is {}.", "Good evening, I am {}."]
    )
    return ask.format(name), chance.choice(
        ["Hello, {}! How can I help you tonight?", "Good evening, {}! What would you like to know?"]
    ).format(name)


def repeat(chance):
    words = " ".join(chance.sample(THINGS + CITIES + NAMES, chance.randrange(1, 5)))
    return chance.choice(["Repeat: ", "Repeat after me: ", "Say this: ", "Echo: "]) + words, words


def story(chance):
    hero, friend = chance.sample(KINDS["animal"], 2)
    place, thing, city = chance.choice(PLACES), chance.choice(THINGS), chance.choice(CITIES)
    ask = chance.choice(
        [
            "Write a short story about {}.",
            "Tell me a story about {}.",
            "Write a bedtime story about {}.",
            "Tell me a bedtime story about {}.",
            "Write a tiny story about {}.",
        ]
    )
    start = chance.choice(
        [
            "Once there was {a} who lived near the {place}.",
            "One night, {a} could not sleep and went to the {place}.",
            "Long ago, {a} lived in {city}.",
        ]
    )
    middle = chance.choice(
        [
            "It found {thing} under the stars.",
            "It met {friend}, and they looked at the moon.",
            "It counted the stars until it was tired.",
            "It shared {thing} with {friend}.",
        ]
    )
    end = chance.choice(
        [
            "Then it went home and slept well.",
            "In the morning, all was well.",
            "And so the night was not dark any more.",
        ]
    )
    words = {"a": article(hero), "place": place, "city": city, "thing": article(thing), "friend": article(friend)}
    return ask.format(article(hero)), " ".join([start, middle, end]).format(**words)


def poem(chance):
    topic = chance.choice(
        ["the night", "the stars", "the moon", "sleep", "a queue", "batch inference", "the morning", "the sky"]
    )
    ask = chance.choice(
        [
            "Write a poem about {}.",
            "Write a haiku about {}.",
            "Write a short poem about {}.",
            "A poem about {}, please.",
        ]
    )
    first = chance.choice(
        ["The night is long and still,", "The stars are small and bright,", "The moon is full and slow,"]
    )
    second = chance.choice(
        ["the queue is growing under the hill,", "the work is waiting for the night,", "the quiet hours come and go,"]
    )
    third = chance.choice(
        ["and in the morning all is done.", "and every answer finds its place.", "and nothing that we asked is lost."]
    )
    return ask.format(topic), "\n".join([first, second, third])


def ticket(chance):
    """A support message with its label, for the labelling system prompt."""
    label, texts = chance.choice(
        [
            (
                "billing",
                [
                    "I was charged twice for {}.",
                    "My invoice for {} is wrong.",
                    "I want a refund for {}.",
                    "How do I pay for {}?",
                    "The price of {} on my bill is too high.",
                ],
            ),
            (
                "bug",
                [
                    "The page with {} does not load.",
                    "The app crashes when I open {}.",
                    "I see an error when I save {}.",
                    "The button for {} is broken.",
                    "Search does not find {}.",
                ],
            ),
            (
                "delivery",
                [
                    "Where is {}?",
                    "My parcel with {} has not arrived.",
                    "When will you send {}?",
                    "{} came late and broken.",
                    "Please send {} to {city}.",
                ],
            ),
        ]
    )
    text = chance.choice(texts).format("the " + chance.choice(THINGS), city=chance.choice(CITIES))
    return text[0].upper() + text[1:], label
