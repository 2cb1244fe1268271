"""Published datasets, fetched and made ready: a recipe says where the files are and how `preprocess` reads them."""
