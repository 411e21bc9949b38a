import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChangeDraft } from './draft.ts';

interface IdeaPromptProps {
  /** From the URL, so it may be unknown. */
  readonly idea: string;
  readonly change: ChangeDraft;
}

/** Fills the prompt with the idea of the URL (`/studio?idea=sea`), and removes it from the URL. */
export default function IdeaPrompt({ idea, change }: IdeaPromptProps) {
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
