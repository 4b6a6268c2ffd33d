"""WGSL kernels on any GPU that Vulkan, Metal or Direct3D 12 reaches, and on a software adapter where there is none."""
