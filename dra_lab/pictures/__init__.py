"""What a person looks at: hardware pictures, graph pages, charts."""
