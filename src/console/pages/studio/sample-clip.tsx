import { useState } from 'react';
import { acceptsMotion } from '../../components/video-player.tsx';

/** Clips rendered for the sandbox, which are part of this project: one of each scene. */
const POSTERS = import.meta.glob<string>('../../../sandbox/media/*-1.webp', {
  query: '?url',
  import: 'default',
  eager: true,
});
const CLIPS = import.meta.glob<string>('../../../sandbox/media/*-1.mp4', {
  query: '?url',
  import: 'default',
  eager: true,
});

/** Names of the scenes. */
export const SAMPLE_SCENES: readonly string[] = Object.keys(POSTERS).map((path) =>
  path.replace(/^.*\/|-1\.webp$/g, ''),
);

interface SampleClipProps {
  readonly scene: string;
  /** Grade of the picture, 1 to 4. */
  readonly look?: number;
}

/** The still of a rendered scene, which moves while the pointer is on it. */
export function SampleClip({ scene, look = 1 }: SampleClipProps) {
  const [isPlaying, setPlaying] = useState(false);
  const poster = POSTERS[`../../../sandbox/media/${scene}-1.webp`];
  const clip = CLIPS[`../../../sandbox/media/${scene}-1.mp4`];
  return (
    <span
      className="clip"
      data-look={look}
      onPointerEnter={({ pointerType }) => setPlaying(pointerType === 'mouse' && acceptsMotion())}
      onPointerLeave={() => setPlaying(false)}
    >
      {poster === undefined ? null : <img src={poster} alt="" loading="lazy" />}
      {isPlaying && clip !== undefined ? <video src={clip} muted loop playsInline autoPlay aria-hidden /> : null}
    </span>
  );
}
