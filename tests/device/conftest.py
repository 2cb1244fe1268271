from host_library import host_library, host_library_path

__all__ = ["host_library", "host_library_path"]
