import { useCallback, useState } from 'react';
import { DRAFT_KEY_PREFIX } from '../data/clear-stored-drafts.ts';

/** A text that survives leaving the page, kept in this browser until it is sent or the user signs out. */
export function useDraftText(name: string): readonly [string, (text: string) => void] {
  const key = `${DRAFT_KEY_PREFIX}.${name}`;
  const [text, setText] = useState(() => localStorage.getItem(key) ?? '');
  const change = useCallback(
    (next: string) => {
      setText(next);
      if (next === '') localStorage.removeItem(key);
      else localStorage.setItem(key, next);
    },
    [key],
  );
  return [text, change];
}
