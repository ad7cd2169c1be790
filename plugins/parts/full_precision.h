#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

namespace parts {

/// While it lives, this thread's operators leave numbers as precise as they are given, under autocast, too: for
/// decisions, where the products of half precision would order close candidates otherwise.
class FullPrecision {
  c10::impl::ExcludeDispatchKeyGuard without_autocast_{c10::autocast_dispatch_keyset};
};

}  // namespace parts
