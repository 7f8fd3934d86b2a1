"""What text becomes before it is shown: safe Markdown and HTML, times, and lines that only katod writes."""
