"""CUDA without a toolkit: inline PTX, the compiler behind kernels, the driver. Nothing here knows a field or a curve."""
