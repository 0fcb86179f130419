# Toolchain of 64-bit Arm Linux on a Debian machine: Debian's cross compiler, and qemu-user to run what it makes. Header-only
# dependencies are the host's; utf8proc is Debian's arm64 build, which scripts/arm64_packages.sh unpacks into TAKT_ARM64_ROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

get_filename_component(TAKT_SOURCE ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(TAKT_ARM64_ROOT ${TAKT_SOURCE}/build/arm64-packages/root)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TAKT_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${TAKT_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
# The one header-only dependency whose CMake files lie in the folder of the host's architecture.
file(GLOB fmt_DIRS /usr/lib/*/cmake/fmt)
if(fmt_DIRS)
    list(GET fmt_DIRS 0 fmt_DIR)
endif()
