"""What the chain and a sealed sector are made of: sizes, graph, challenges, ids, vanilla proofs."""
