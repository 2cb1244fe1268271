"""The folder of libmarius_cuda.so, where it is installed apart from marius_lite."""
