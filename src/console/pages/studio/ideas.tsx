import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Page } from '../../components/page.tsx';
import { acceptsMotion } from '../../components/video-player.tsx';
import type libraryStrings from '../../strings/en/library.ts';
import type { ChangeDraft } from './draft.ts';

/** A prompt to start from. */
type IdeaId = keyof typeof libraryStrings.inspiration.ideas;

/** The curated ideas in their order; the texts are in the strings of each language. */
const IDEAS: readonly IdeaId[] = [
  'street',
  'aurora',
  'portrait',
  'sea',
  'city',
  'mountains',
  'silk',
  'road',
  'planet',
  'forest',
  'desert',
  'clouds',
];

/** Cards of ideas; a click fills the prompt of the studio. */
export function Ideas({ count }: { readonly count: number }) {
  return (
    <ul className="ideas">
      {IDEAS.slice(0, count).map((id) => (
        <Idea key={id} id={id} />
      ))}
    </ul>
  );
}

function Idea({ id }: { readonly id: IdeaId }) {
  const { t } = useTranslation('library');
  return (
    <li>
      <Link to="/studio" search={{ idea: id }} className="idea">
        <span className="tile" data-idea={id}>
          <SampleClip scene={id} />
        </span>
        <strong>{t(`inspiration.ideas.${id}.title`)}</strong>
        <span>{t(`inspiration.ideas.${id}.prompt`)}</span>
      </Link>
    </li>
  );
}

/** Prompts and clips to start from. */
export function ExplorePage() {
  const { t } = useTranslation('library');
  return (
    <Page title={t('inspiration.title')} subtitle={t('inspiration.lead')}>
      <Ideas count={IDEAS.length} />
    </Page>
  );
}

interface IdeaPromptProps {
  /** From the URL, so it may be unknown. */
  readonly idea: string;
  readonly change: ChangeDraft;
}

/** Fills the prompt with the idea of the URL (`/studio?idea=sea`), and removes it from the URL. */
export function IdeaPrompt({ idea, change }: IdeaPromptProps) {
  const { t } = useTranslation('library');
  const navigate = useNavigate();
  useEffect(() => {
    const prompt = t(`inspiration.ideas.${idea as 'sea'}.prompt`, { defaultValue: '' });
    if (prompt !== '') change({ prompt, operation: 'generate' });
    void navigate({ to: '/studio', search: {}, replace: true });
    document.getElementById('prompt')?.focus();
  }, [idea, t, change, navigate]);
  return null;
}

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
