# Read at the start of llama.cpp's own build (CMAKE_PROJECT_INCLUDE in .cargo/config.toml). After a change here:
# cargo clean --release -p llama-cpp-sys-2

# The bindings ask for llama.cpp's helpers of its command-line tools, an HTTP client among them. The engine uses none of them.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# 200 files share large headers: compiled eight at a time. The files for Apple's GPU cannot be: two have a constant of one name.
if(NOT APPLE)
    set(CMAKE_UNITY_BUILD ON)
endif()
