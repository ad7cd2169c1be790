#pragma once

/// Marks a function of which there is a version for wider registers, chosen when the program starts. Nothing is fused
/// and nothing reordered, so the bits agree: wider registers change how many numbers are worked on at once, not how
/// each is rounded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define BDC_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define BDC_WIDE
#endif
