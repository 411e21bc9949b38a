import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { Page } from '../../components/page.tsx';
import type explore from '../../strings/en/explore.ts';
import type { ChangeDraft } from './draft.ts';
import { SampleClip } from './sample-clip.tsx';

/** A prompt to start from. */
type IdeaId = keyof typeof explore.ideas;

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
  const { t } = useTranslation('explore');
  return (
    <li>
      <Link to="/studio" search={{ idea: id }} className="idea">
        <span className="tile" data-idea={id}>
          <SampleClip scene={id} />
        </span>
        <strong>{t(`ideas.${id}.title`)}</strong>
        <span>{t(`ideas.${id}.prompt`)}</span>
      </Link>
    </li>
  );
}

/** Prompts and clips to start from. */
export function ExplorePage() {
  const { t } = useTranslation('explore');
  return (
    <Page title={t('title')} subtitle={t('lead')} size="xl">
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
  const { t } = useTranslation('explore');
  const navigate = useNavigate();
  useEffect(() => {
    const prompt = t(`ideas.${idea as 'sea'}.prompt`, { defaultValue: '' });
    if (prompt !== '') change({ prompt, operation: 'generate' });
    void navigate({ to: '/studio', search: {}, replace: true });
    document.getElementById('prompt')?.focus();
  }, [idea, t, change, navigate]);
  return null;
}
