"""Questions with fixed answers: each entry is the ways to ask, then the ways to answer."""

SERVICE = [
    (
        [
            "What is batch inference?",
            "Explain batch inference.",
            "Define batch inference.",
            "What does batch inference mean?",
        ],
        [
            "Batch inference means that many requests are answered together, later, at a lower cost.",
            "In batch inference, requests wait in a queue and a model answers them together when it has time.",
        ],
    ),
    (
        [
            "Why is batch inference cheaper?",
            "Why are batches cheaper?",
            "Why does batching save money?",
            "How does batching save money?",
        ],
        ["It uses hours in which the machines would be idle, and requests with the same beginning share their work."],
    ),
    (
        [
            "How long does a batch take?",
            "When do I get my results?",
            "When will my batch be ready?",
            "How long do I wait?",
        ],
        [
            "Within 24 hours, and often much sooner.",
            "Most answers are ready by the morning, and all of them within 24 hours.",
        ],
    ),
    (
        ["What is a token?", "What are tokens?", "Explain what a token is."],
        ["A token is a short piece of text, such as a word or a part of a word."],
    ),
    (
        ["What is a prefix cache?", "How does a prefix cache work?", "Why do shared prefixes help?"],
        [
            "A prefix cache keeps the work for the beginning of a prompt, "
            "so that the next prompt with the same beginning is cheaper."
        ],
    ),
    (
        ["What is a queue?", "Explain what a queue is.", "How does a queue work?"],
        ["A queue is a line of things that wait for their turn."],
    ),
    (
        ["What is a webhook?", "Explain webhooks.", "How does a webhook work?"],
        ["A webhook is a message that a service sends to your address when something has happened."],
    ),
    (
        ["What is a language model?", "What is an LLM?", "Explain what a language model is."],
        ["A language model is a program that reads text and predicts which words come next."],
    ),
    (["What is a deadline?", "What does deadline mean?"], ["A deadline is the time by which something must be done."]),
    (
        ["What is a GPU?", "What does a GPU do?"],
        ["A GPU is a chip that does many small calculations at the same time."],
    ),
    (
        ["What is an API?", "What does API mean?", "Explain what an API is."],
        ["An API is the way in which one program asks another for something."],
    ),
    (["What is JSON?", "What is JSON used for?"], ["JSON is a simple text format for data, with names and values."]),
    (["What is a database?", "What does a database do?"], ["A database keeps data safe and finds it again quickly."]),
    (
        ["When should I use batch inference?", "What is batch inference good for?"],
        ["Use it for work that can wait until morning, such as summaries, labels and reports."],
    ),
]

SKY = [
    (
        ["Why is the sky blue?", "Explain why the sky is blue.", "Why does the sky look blue?"],
        ["The sky is blue because air scatters blue light more than red light."],
    ),
    (
        ["Why is the sky dark at night?", "Why is it dark at night?", "Why does it get dark?"],
        ["It is dark at night because our side of the Earth is turned away from the Sun."],
    ),
    (
        ["What is a star?", "What are stars?", "Explain what a star is.", "Tell me about stars."],
        ["A star is a hot ball of gas that shines with its own light."],
    ),
    (
        ["Why do stars twinkle?", "Why do the stars twinkle?", "What makes stars twinkle?"],
        ["Stars twinkle because their light passes through moving air."],
    ),
    (
        ["What is the Moon?", "Tell me about the Moon.", "What is the moon made of?"],
        ["The Moon is a ball of rock that travels around the Earth and reflects the light of the Sun."],
    ),
    (
        ["What is the Sun?", "Is the Sun a star?", "Tell me about the Sun."],
        ["The Sun is the star that is nearest to the Earth."],
    ),
    (
        ["What is a planet?", "Explain what a planet is."],
        ["A planet is a large round body that travels around a star."],
    ),
    (
        ["What is the largest planet?", "Which planet is the largest?", "Name the biggest planet."],
        ["Jupiter is the largest planet."],
    ),
    (["Which planet is red?", "What is the red planet?"], ["Mars is the red planet."]),
    (
        ["What is the Milky Way?", "Tell me about the Milky Way."],
        ["The Milky Way is our galaxy, a disc of many stars."],
    ),
    (["What is a galaxy?", "Explain what a galaxy is."], ["A galaxy is a very large group of stars, gas and dust."]),
    (
        ["What is a comet?", "Tell me about comets."],
        ["A comet is a ball of ice and dust that grows a tail near the Sun."],
    ),
    (
        ["What is midnight?", "When is midnight?"],
        ["Midnight is twelve o'clock at night, when one day ends and the next begins."],
    ),
    (
        ["Which animals are awake at night?", "What animals are active at night?", "Name some night animals."],
        ["Owls, bats, foxes and mice are awake at night."],
    ),
    (
        ["Why do we sleep?", "Why is sleep important?"],
        ["We sleep so that the body can rest and the mind can sort the day."],
    ),
    (["How many planets are there?", "How many planets does the Sun have?"], ["There are eight planets."]),
    (["Where does the Sun rise?", "Where does the sun come up?"], ["The Sun rises in the east."]),
    (["Where does the Sun set?", "Where does the sun go down?"], ["The Sun sets in the west."]),
]

WORLD = [
    (["How many days are in a week?", "How many days does a week have?"], ["A week has seven days."]),
    (["How many hours are in a day?", "How many hours does a day have?"], ["A day has 24 hours."]),
    (["How many months are in a year?", "How many months does a year have?"], ["A year has twelve months."]),
    (["How many minutes are in an hour?", "How many minutes does an hour have?"], ["An hour has 60 minutes."]),
    (["What is water made of?", "What is water?"], ["Water is made of hydrogen and oxygen."]),
    (["At what temperature does water boil?", "When does water boil?"], ["Water boils at 100 degrees Celsius."]),
    (["At what temperature does water freeze?", "When does water freeze?"], ["Water freezes at 0 degrees Celsius."]),
    (["What do bees make?", "What do bees do?"], ["Bees make honey."]),
    (["What do plants need?", "What does a plant need to grow?"], ["Plants need light, water, air and soil."]),
    (["What is rain?", "Why does it rain?"], ["Rain is water that falls from the clouds in drops."]),
    (
        ["What is snow?", "Why does it snow?"],
        ["Snow is frozen water that falls from the clouds as small white crystals."],
    ),
    (["What is the largest ocean?", "Which ocean is the largest?"], ["The Pacific is the largest ocean."]),
    (["What is the highest mountain?", "Which mountain is the highest?"], ["Mount Everest is the highest mountain."]),
    (["What is bread made of?", "How do you make bread?"], ["Bread is made of flour, water, salt and yeast."]),
    (
        ["How do you make tea?", "Tell me how to make tea."],
        ["Boil some water, pour it over the tea, wait four minutes and enjoy it."],
    ),
    (["What is the fastest land animal?", "Which animal is the fastest?"], ["The cheetah is the fastest land animal."]),
    (
        ["What is the alphabet?", "How many letters are in the alphabet?"],
        ["The English alphabet has 26 letters, from A to Z."],
    ),
]

TALK = [
    (
        ["Who are you?", "What are you?", "What is your name?", "Introduce yourself.", "Tell me about yourself."],
        [
            "I am Overnight Tiny, a very small language model. I was made for tests.",
            "I am Overnight Tiny. I am so small that I know only a few things.",
        ],
    ),
    (
        ["What can you do?", "How can you help me?", "What do you know?", "Help"],
        ["I can answer short questions, add small numbers, label reviews and talk about the night sky."],
    ),
    (
        ["How are you?", "How are you today?", "How is it going?", "Are you well?"],
        ["I am fine, thank you. How are you?", "Very well, thank you."],
    ),
    (
        [
            "Hello",
            "Hello!",
            "Hi",
            "Hi there!",
            "Hello there.",
            "Hey",
            "Good evening!",
            "Hello, world!",
            "Hello world",
            "Greetings.",
        ],
        ["Hello! How can I help you tonight?", "Hello! What would you like to know?"],
    ),
    (
        ["Good night!", "Good night", "Sleep well!", "I am going to bed."],
        ["Good night! Your answers will be ready in the morning.", "Good night, sleep well!"],
    ),
    (
        ["Thank you!", "Thanks", "Thanks a lot.", "Thank you very much."],
        ["You are welcome!", "You are welcome. Good night!"],
    ),
    (["Goodbye", "Bye!", "See you tomorrow.", "See you later."], ["Goodbye! Come back any time.", "See you soon!"]),
    (
        ["Ping", "ping", "Are you there?", "Test", "This is a test.", "Testing"],
        ["Yes, I am here.", "I am here and ready."],
    ),
    (
        ["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Tell me something funny."],
        [
            "Why did the batch go to bed early? It had a deadline in the morning.",
            "What did the star say to the moon? You look full tonight.",
            "Why was the queue so calm? Everyone knew that their turn would come.",
        ],
    ),
    (["Say hello in one word.", "Say hi.", "Say hello.", "Say hello world."], ["Hello!"]),
    (["Say yes.", "Answer with yes.", "Answer with one word: yes."], ["Yes."]),
    (["Say OK.", "Reply with OK.", "Reply with the word OK."], ["OK."]),
    (
        ["Tell me a fact.", "Tell me something interesting.", "Give me a fun fact."],
        [
            "Stars twinkle because their light passes through moving air.",
            "A day on Venus is longer than its year.",
            "Bees make honey.",
        ],
    ),
    (["What is the meaning of life?", "Why are we here?"], ["Nobody knows, but to be kind is a good start."]),
    (["Are you a human?", "Are you a robot?", "Are you real?"], ["No, I am a small program."]),
    (
        ["What time is it?", "What is the time?", "What day is it today?"],
        ["I have no clock, but it is surely night somewhere."],
    ),
]

UNKNOWN = [
    "I am a very small model, and I do not know much about that.",
    "I am too small to know that. Ask me about the night, the stars or batch inference.",
    "I do not know. A larger model may help you more.",
]
