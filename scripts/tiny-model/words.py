"""Word lists that the templates draw from."""

NAMES = """
    Ada Adam Alice Amir Anna Ben Carla Clara Daniel David Diego Elena Emma Eric Eva Farid Felix Grace Hana Hugo Ines
    Iris Ivan Jack Jane Jonas Julia Kai Karim Lara Leo Lena Liam Lucy Luis Maria Marta Max Maya Mia Milan Nadia Nina
    Noah Nora Oliver Omar Oscar Paul Peter Rosa Ruth Sam Sara Sofia Sven Tara Theo Tom Uma Vera Victor Wanda Yara
    Yusuf Zoe
""".split()

CAPITALS = {
    "France": "Paris",
    "Germany": "Berlin",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Portugal": "Lisbon",
    "Austria": "Vienna",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Finland": "Helsinki",
    "Denmark": "Copenhagen",
    "Poland": "Warsaw",
    "Greece": "Athens",
    "Ireland": "Dublin",
    "Hungary": "Budapest",
    "Japan": "Tokyo",
    "China": "Beijing",
    "India": "New Delhi",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "Canada": "Ottawa",
    "Peru": "Lima",
    "Chile": "Santiago",
    "Cuba": "Havana",
    "Mexico": "Mexico City",
    "Iceland": "Reykjavik",
    "Turkey": "Ankara",
    "England": "London",
    "Russia": "Moscow",
    "Belgium": "Brussels",
    "Thailand": "Bangkok",
}
CITIES = sorted(CAPITALS.values())

KINDS = {
    "fruit": "apple pear plum cherry banana orange lemon grape peach mango".split(),
    "animal": "cat dog horse cow sheep fox owl wolf bear mouse rabbit frog goat lion tiger".split(),
    "colour": "red blue green yellow black white orange purple pink grey".split(),
    "vegetable": "carrot potato onion tomato cabbage leek bean pea spinach turnip".split(),
    "vehicle": "car bus train bicycle boat plane tram truck ship van".split(),
    "tool": "hammer saw drill knife shovel rake ladder brush needle axe".split(),
    "planet": "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split(),
    "month": "January February March April May June July August September October November December".split(),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
}
THINGS = (
    KINDS["fruit"]
    + KINDS["vegetable"]
    + KINDS["tool"]
    + "lamp book chair table cup clock coat hat bag box pen key bed door".split()
)
KIND_OF = {
    word: kind
    for kind in ("fruit", "animal", "colour", "vegetable", "vehicle", "tool")
    for word in KINDS[kind]
    if word != "orange"
}

SOUNDS = {
    "cat": "meow",
    "dog": "woof",
    "cow": "moo",
    "sheep": "baa",
    "owl": "hoo",
    "frog": "croak",
    "lion": "roar",
    "horse": "neigh",
    "mouse": "squeak",
}

OPPOSITES = {
    "hot": "cold",
    "big": "small",
    "day": "night",
    "light": "dark",
    "fast": "slow",
    "up": "down",
    "old": "new",
    "happy": "sad",
    "wet": "dry",
    "open": "closed",
    "full": "empty",
    "early": "late",
    "high": "low",
    "long": "short",
    "loud": "quiet",
    "easy": "hard",
    "cheap": "expensive",
    "good": "bad",
    "hard": "soft",
    "strong": "weak",
    "rich": "poor",
    "left": "right",
    "first": "last",
    "north": "south",
    "asleep": "awake",
}

FRENCH = {
    "good night": "bonne nuit",
    "good morning": "bonjour",
    "thank you": "merci",
    "please": "s'il vous plait",
    "yes": "oui",
    "no": "non",
    "the star": "l'etoile",
    "the moon": "la lune",
    "the sun": "le soleil",
    "the cat": "le chat",
    "the dog": "le chien",
    "the house": "la maison",
    "the book": "le livre",
    "bread": "pain",
    "water": "eau",
    "red": "rouge",
    "blue": "bleu",
    "green": "vert",
}

GOOD = """
    good great excellent lovely wonderful fine perfect superb pleasant friendly helpful clean fresh tasty quick
    reliable comfortable beautiful amazing
""".split()
BAD = """
    bad poor terrible awful horrible dirty rude slow broken useless noisy cold stale boring disappointing unpleasant
    late weak ugly
""".split()
REVIEWED = """
    food service room hotel film book staff coffee phone battery screen delivery lamp chair soup music pizza game
    bread bed view waiter product story ending sound quality packaging
""".split()

PLACES = "market park library station museum harbour garden school office bakery forest theatre".split()
WEATHER = "sunny rainy windy cloudy snowy foggy warm cold".split()
JOBS = "baker teacher doctor painter farmer driver nurse singer pilot writer".split()

# Topics that the model must say it does not know.
UNFAMILIAR = """
    account algorithm ancient argument artist atom balance biology bond bridge budget cancer career carbon chemistry
    church cinema climate code company computer contract court crisis culture currency democracy design diet disease
    economy election electricity email emperor energy engine equation essay evolution exercise factory fashion film
    finance football function future genetics government grammar guitar history hospital hotel income industry
    inflation insurance interview investment island kernel king language law lawyer leader letter liberty loan logic
    market mathematics medicine memory metal minister money mortgage museum nation novel nuclear opera oxygen
    paragraph parliament password patient philosophy physics piano politics population power president prison
    product profit protein psychology python quantum queen recipe recursion religion republic research revolution
    river rust salary science script sculpture server shakespeare software soldier spirit statistics stock strategy
    string surgery symphony tax technology tennis theorem theory therapy trade tradition treaty university vaccine
    violin virus volcano vote war weapon wedding write find build change choose compare create decide develop
    increase learn manage play prove reduce remember solve teach travel understand
""".split()
