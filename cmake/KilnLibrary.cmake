# The library: one set of position-independent objects that become libkiln.a and libkiln.so.
set(KILN_PIC ON)
if(KN_FREESTANDING OR CMAKE_SYSTEM_PROCESSOR MATCHES "wasm")
    set(KILN_PIC OFF)
endif()

kiln_add_tiers("${kiln_tier_sources}" kiln_tier_objects)

set(kiln_objects_list ${kiln_tier_objects})
# Kernels get all of -O3. What calls them gets -O2, and what runs once for a kernel, a layer or an epoch -O1: more takes a
# fifth of the build and wins nothing.
function(kiln_optimise level pattern)
    set(sources ${kiln_sources})
    list(FILTER sources INCLUDE REGEX "/src/(${pattern})")
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:${level}>")
endfunction()
if(NOT KN_SANITIZE)
    kiln_optimise(-O2 "core|graph|wrap|support|store|data|backend/host|backend/gpu|ir/run")
    kiln_optimise(-O1 "(sched|kernel|nn|optim|train|backend/cuda|backend/metal|backend/opencl|backend/vulkan)/|ir/[^r]")
endif()

# The errno of wasi-libc is that of one thread (cmake/wasm_errno.h).
if("atomics" IN_LIST KN_WASM_FEATURES)
    set(sources ${kiln_sources})
    list(FILTER sources INCLUDE REGEX "/src/(support|store|onnx|program)/")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS
        "-include${PROJECT_SOURCE_DIR}/cmake/wasm_errno.h")
endif()

if(kiln_sources)
    add_library(kiln_objects OBJECT ${kiln_sources})
    target_link_libraries(kiln_objects PRIVATE kiln_library_flags)
    target_include_directories(kiln_objects PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    set_target_properties(kiln_objects PROPERTIES POSITION_INDEPENDENT_CODE ${KILN_PIC})
    list(APPEND kiln_objects_list $<TARGET_OBJECTS:kiln_objects>)
endif()

set(kiln_system_libraries "")
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" OR CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads REQUIRED)
    set(kiln_system_libraries Threads::Threads ${CMAKE_DL_LIBS})
endif()

function(kiln_describe_library target)
    target_include_directories(${target} PUBLIC
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:kiln_flags>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME kiln LINKER_LANGUAGE C)
endfunction()

if(KN_TESTS_SHARED)
    # Where programs look first for the file is LD_LIBRARY_PATH, so that a mutant takes its place.
    add_library(kiln_static SHARED ${kiln_objects_list})
    kiln_describe_library(kiln_static)
    set_target_properties(kiln_static PROPERTIES OUTPUT_NAME kiln_tests)
    target_link_options(kiln_static INTERFACE -Wl,--enable-new-dtags)
else()
    add_library(kiln_static STATIC ${kiln_objects_list})
    kiln_describe_library(kiln_static)
endif()
target_link_libraries(kiln_static INTERFACE ${kiln_system_libraries})
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # Each op is a section of its own: a program gets the ones it calls.
    target_link_options(kiln_static INTERFACE -Wl,--gc-sections)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    target_link_options(kiln_static INTERFACE -Wl,-dead_strip)
endif()
set_target_properties(kiln_static PROPERTIES EXPORT_NAME static)
add_library(kiln::static ALIAS kiln_static)

if(KN_SHARED)
    add_library(kiln SHARED ${kiln_objects_list})
    kiln_describe_library(kiln)
    target_link_libraries(kiln PRIVATE ${kiln_system_libraries})
    set_target_properties(kiln PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 EXPORT_NAME kiln)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        target_link_options(kiln PRIVATE -Wl,-Bsymbolic-functions -Wl,--gc-sections)
        if(NOT KN_SANITIZE)
            # A libm function or a forgotten source shows up here, not in a user's link.
            target_link_options(kiln PRIVATE -Wl,--no-undefined)
        endif()
    endif()
    add_library(kiln::kiln ALIAS kiln)
    set(kiln_default_library kiln)
else()
    set(kiln_default_library kiln_static)
endif()
