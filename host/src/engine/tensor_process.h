#pragma once

namespace bdc::host {

/// Makes this process ready to work on tensors: so many threads for LibTorch (0: the cores), none for OpenCV's own
/// loops (images are loaded in parallel already), and an allocator that keeps what is freed. Every step frees and asks
/// for the same large blocks; giving them back to the system in between costs a training step 10 to 20 % in page
/// faults.
void prepare_tensor_process(int threads);

}  // namespace bdc::host
