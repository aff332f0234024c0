# Read at the start of llama.cpp's own build (CMAKE_PROJECT_INCLUDE in .cargo/config.toml).

# The bindings ask for llama.cpp's helpers of its command-line tools, an HTTP client among them. The engine uses none of them.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# 200 files share large headers: compiled eight at a time.
set(CMAKE_UNITY_BUILD ON)
