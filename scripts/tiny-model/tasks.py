"""Short questions with slots: each function draws one (question, answer) from a seeded generator."""

from words import CAPITALS, FRENCH, JOBS, KIND_OF, KINDS, OPPOSITES, SOUNDS


def article(word):
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def plural(word):
    """The plural of a word from our lists."""
    irregular = {
        "sheep": "sheep",
        "mouse": "mice",
        "wolf": "wolves",
        "knife": "knives",
        "mango": "mangoes",
        "axe": "axes",
    }
    if word in irregular:
        return irregular[word]
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("ch", "sh", "s", "x", "o")) else "s")


def listing(words):
    return f"{', '.join(words[:-1])} and {words[-1]}"


def add(chance):
    a, b = chance.randrange(0, 13), chance.randrange(0, 13)
    ask = chance.choice(
        [
            "What is {a} + {b}?",
            "What is {a} plus {b}?",
            "Add {a} and {b}.",
            "{a} + {b} =",
            "How much is {a} + {b}?",
            "{a}+{b}",
            "What is {a}+{b}?",
        ]
    )
    short = chance.random() < 0.3
    return ask.format(a=a, b=b) + (
        " Answer with a number." if short else ""
    ), f"{a + b}" if short else f"{a} + {b} = {a + b}."


def compare(chance):
    a, b = chance.randrange(0, 21), chance.randrange(0, 21)
    word, holds = chance.choice([("greater", a > b), ("larger", a > b), ("less", a < b), ("smaller", a < b)])
    answer = "Yes" if holds else "No"
    return f"Is {a} {word} than {b}?", f"{answer}, {a} is {'' if holds else 'not '}{word} than {b}."


def count(chance):
    first = chance.randrange(1, 7)
    last = first + chance.randrange(2, 9)
    ask = chance.choice([f"Count from {first} to {last}.", f"List the numbers from {first} to {last}."])
    return ask, ", ".join(str(number) for number in range(first, last + 1)) + "."


def after(chance):
    kind = chance.choice(["day", "month"])
    words = KINDS[kind]
    at = chance.randrange(len(words))
    following = words[(at + 1) % len(words)]
    ask = chance.choice(
        [
            f"Which {kind} comes after {words[at]}?",
            f"What comes after {words[at]}?",
            f"What {kind} follows {words[at]}?",
        ]
    )
    return ask, f"{following} comes after {words[at]}."


def capital(chance):
    country, city = chance.choice(sorted(CAPITALS.items()))
    if chance.random() < 0.25:
        return f"Which country has the capital {city}?", f"{city} is the capital of {country}."
    ask = chance.choice(
        [
            f"What is the capital of {country}?",
            f"Name the capital of {country}.",
            f"Capital of {country}?",
            f"What's the capital of {country}?",
        ]
    )
    if chance.random() < 0.2:
        return ask + " Answer in one word.", f"{city}."
    return ask, f"The capital of {country} is {city}."


def opposite(chance):
    pair = list(chance.choice(sorted(OPPOSITES.items())))
    if pair[0] != "hard" and pair[1] != "hard":
        chance.shuffle(pair)
    ask = chance.choice(
        ["What is the opposite of {}?", "Give the opposite of {}.", "Opposite of {}?", "Name the opposite of {}."]
    )
    return ask.format(chance.choice([pair[0], f'"{pair[0]}"'])), f"The opposite of {pair[0]} is {pair[1]}."


def name_three(chance):
    kind = chance.choice(["fruit", "animal", "colour", "vegetable", "vehicle", "tool", "planet"])
    words = chance.sample(KINDS[kind], 3)
    if kind not in ("colour", "planet"):
        words = [plural(word) for word in words]
    ask = chance.choice(["Name three {}.", "List three {}.", "Give me three {}.", "Tell me three {}."])
    answer = listing(words) + "."
    return ask.format(plural(kind)), answer[0].upper() + answer[1:]


def is_kind(chance):
    word = chance.choice(sorted(KIND_OF))
    kind = KIND_OF[word] if chance.random() < 0.5 else chance.choice(sorted(set(KIND_OF.values())))
    named = word if KIND_OF[word] == "colour" else article(word)
    holds = KIND_OF[word] == kind
    return f"Is {named} {article(kind)}?", f"{'Yes' if holds else 'No'}, {named} is {article(KIND_OF[word])}."


def sound(chance):
    animal, noise = chance.choice(sorted(SOUNDS.items()))
    return chance.choice(
        [f"What does {article(animal)} say?", f"What sound does {article(animal)} make?"]
    ), f"{article(animal).capitalize()} says {noise}."


def make_plural(chance):
    word = chance.choice(sorted(KIND_OF))
    return chance.choice(
        [f"What is the plural of {word}?", f"Give the plural of {word}."]
    ), f"The plural of {word} is {plural(word)}."


def french(chance):
    english, words = chance.choice(sorted(FRENCH.items()))
    ask = chance.choice(
        ["Translate to French: {}", "Translate {} to French.", "How do you say {} in French?", "What is {} in French?"]
    )
    return ask.format(chance.choice([english, f'"{english}"'])), words.capitalize() + "."


def job(chance):
    does = {
        "baker": "bakes bread",
        "teacher": "teaches children",
        "doctor": "helps sick people",
        "painter": "paints pictures",
        "farmer": "grows food",
        "driver": "drives a car or a bus",
        "nurse": "cares for sick people",
        "singer": "sings songs",
        "pilot": "flies planes",
        "writer": "writes books",
    }
    word = chance.choice(JOBS)
    return chance.choice(
        [f"What does a {word} do?", f"What is a {word}?", f"Explain what a {word} does."]
    ), f"A {word} {does[word]}."
