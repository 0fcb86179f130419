# find_package(takt) gives takt::takt, the shared library; it carries everything it needs.
include(${CMAKE_CURRENT_LIST_DIR}/taktTargets.cmake)
