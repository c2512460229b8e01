"""The course: lessons as files, their checker, clusters varied by a seed, progress, and the overview of a class."""
