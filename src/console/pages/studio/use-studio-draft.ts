import { useCallback, useEffect, useState } from 'react';
import { DRAFT_KEY_PREFIX as KEY } from '../../data/clear-stored-drafts.ts';
import { type Draft, EMPTY_DRAFT } from './draft-type-and-fit-to-model.ts';

/** Browsers keep about five million characters for one site. */
const MAX_CHARACTERS = 3_000_000;

/** The form as it was left, in this browser. */
function readDraft(): Draft {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof kept === 'object' ? { ...EMPTY_DRAFT, ...kept } : EMPTY_DRAFT;
  } catch {
    return EMPTY_DRAFT;
  }
}

/** Keeps a draft; uploaded pictures are left out where they would not fit. */
export function storeDraft(draft: Draft): void {
  const whole = JSON.stringify(draft);
  const links = { ...draft, pictures: draft.pictures.filter(({ src }) => !src.startsWith('data:')) };
  localStorage.setItem(KEY, whole.length <= MAX_CHARACTERS ? whole : JSON.stringify(links));
}

export function useStudioDraft(): readonly [Draft, (change: Partial<Draft>) => void, (draft: Draft) => void] {
  const [draft, setDraft] = useState(readDraft);
  useEffect(() => {
    const store = (): void => {
      cancel();
      storeDraft(draft);
    };
    const timer = setTimeout(store, 200);
    // A reload may come before the timer. Once stored, nothing is stored again: another tab may have a newer draft.
    addEventListener('pagehide', store);
    const cancel = (): void => {
      clearTimeout(timer);
      removeEventListener('pagehide', store);
    };
    return cancel;
  }, [draft]);
  const change = useCallback((part: Partial<Draft>) => setDraft((known) => ({ ...known, ...part })), []);
  return [draft, change, setDraft];
}
