"""What light, lens and camera do to a rendered picture: shadows, glare, casts, blur, noise, JPEG."""

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Rng = np.random.Generator


def light(image: Image, rng: Rng, hard: float = 0.5) -> Image:
    """Shade, cast shadows and glare on a picture (h, w, 3) uint8 BGR; `hard` from 0 (kind) to 1 (any light)."""
    tall, wide = image.shape[:2]
    small_h, small_w = max(8, tall // 8), max(8, wide // 8)
    ys, xs = np.mgrid[0:small_h, 0:small_w].astype(np.float32)
    ys, xs = ys / small_h - 0.5, xs / small_w - 0.5
    turn = rng.uniform(0, 2 * np.pi)
    gain = 1.0 + rng.uniform(0, 0.45) * hard * (np.cos(turn) * xs + np.sin(turn) * ys)
    for _ in range(int(rng.integers(0, 3)) if rng.random() < 0.55 else 0):
        gain *= 1.0 - rng.uniform(0.15, 0.6) * hard * _soft_shape(small_h, small_w, rng)
    shade = cv2.resize(gain.astype(np.float32), (wide, tall), interpolation=cv2.INTER_LINEAR)
    lit = image.astype(np.float32) * shade[:, :, None]
    if rng.random() < 0.22 * (0.5 + hard):
        spot = cv2.GaussianBlur(_soft_shape(small_h, small_w, rng, size=0.22), (0, 0), small_w / 30 + 0.3)
        spot = cv2.resize(spot, (wide, tall), interpolation=cv2.INTER_LINEAR)
        lit += spot[:, :, None] * rng.uniform(30, 230) * hard
    cast = np.exp(rng.normal(0, 0.09 + 0.09 * hard, 3) * np.array([1.0, 0.35, 1.0]))
    exposure = np.exp(rng.normal(0.0, 0.22)) if rng.random() > 0.16 * hard else rng.uniform(0.18, 0.5)
    lit = lit * (cast * exposure).astype(np.float32)
    lift = rng.uniform(0, 22) if rng.random() < 0.4 else 0.0
    lit = lit * (1 - lift / 255) + lift
    if rng.random() < 0.5:
        grey = lit.mean(axis=2, keepdims=True)
        keep = rng.uniform(0.55, 1.3) if rng.random() < 0.94 else 0.0
        lit = grey + (lit - grey) * keep
    if rng.random() < 0.5:
        lit = 255 * np.clip(lit / 255, 0, 1) ** rng.uniform(0.7, 1.4)
    return np.asarray(np.clip(lit, 0, 255), np.uint8)


def take(image: Image, rng: Rng, hard: float = 0.5, scale: float = 1.0) -> Image:
    """Lens and sensor: focus or motion blur (of `scale` pixels), sharpening, noise, JPEG; same size."""
    out = image
    kind = rng.random()
    if kind < 0.35 * (0.5 + hard):
        out = np.asarray(cv2.GaussianBlur(out, (0, 0), float(rng.uniform(0.3, 1.5) * scale + 0.05)), np.uint8)
    elif kind < 0.48 * (0.5 + hard):
        length = max(2, int(rng.uniform(1.5, 6.0) * scale) + 1)
        kernel = np.zeros((length, length), np.float32)
        turn = rng.uniform(0, np.pi)
        half = (length - 1) / 2
        offset = np.array([np.cos(turn), np.sin(turn)]) * half
        start, end = half - offset, half + offset
        cv2.line(kernel, tuple(np.round(start).astype(int)), tuple(np.round(end).astype(int)), 1.0, 1)
        out = np.asarray(cv2.filter2D(out, -1, kernel / kernel.sum()), np.uint8)
    elif kind > 0.88:
        soft = cv2.GaussianBlur(out, (0, 0), 1.0 * max(scale, 0.5))
        out = np.asarray(cv2.addWeighted(out, 1.6, soft, -0.6, 0), np.uint8)
    if rng.random() < 0.7:
        grain = rng.normal(0, rng.uniform(0.5, 3.0 + 9.0 * hard), (*out.shape[:2], 3)).astype(np.float32)
        if rng.random() < 0.5:
            grain[:] = grain[:, :, :1]
        out = np.clip(out.astype(np.float32) + grain, 0, 255).astype(np.uint8)
    if rng.random() < 0.75:
        quality = int(rng.integers(30 if rng.random() < hard * 0.5 else 60, 96))
        _, packed = cv2.imencode(".jpg", out, [cv2.IMWRITE_JPEG_QUALITY, quality])
        out = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.uint8)
    return out


def _soft_shape(tall: int, wide: int, rng: Rng, size: float = 0.5) -> npt.NDArray[np.float32]:
    """A blurred blob or half-plane, (tall, wide) float32 from 0 to 1."""
    mask = np.zeros((tall, wide), np.float32)
    centre = rng.uniform(0, 1, 2) * (wide, tall)
    count = int(rng.integers(3, 8))
    turns = np.sort(rng.uniform(0, 2 * np.pi, count))
    reach = rng.uniform(0.3, 1.0, count) * size * max(tall, wide) * rng.uniform(0.3, 2.0)
    points = centre + np.stack([np.cos(turns), np.sin(turns)], axis=1) * reach[:, None]
    cv2.fillPoly(mask, [points.astype(np.int32)], 1.0)
    sigma = float(rng.uniform(0.005, 0.08) * max(tall, wide))
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), sigma + 0.1), np.float32)
