"""The page of `katod serve`: what people look at in a browser."""
