"""Random launches for the traffic model, small enough to walk event by event."""

from gemmlab.model.schedule import Grid


def random_grid(rng, most=40):
    return Grid(
        m=rng.randint(1, most),
        n=rng.randint(1, most),
        k=rng.randint(1, 4 * most),
        block_m=rng.randint(1, 9),
        block_n=rng.randint(1, 9),
        block_k=rng.randint(1, 16),
        group_m=rng.randint(1, 5),
        raster=rng.choice("mn"),
        a_bytes=rng.choice((0.5, 1, 2, 4)),
        b_bytes=rng.choice((1, 2, 4)),
        d_bytes=rng.choice((2, 4)),
        batch=rng.choice((1, 1, 3)),
        split_k=rng.choice((1, 1, 2)),
    )
