import { DRAFT_KEY_PREFIX } from '../../data/clear-stored-drafts.ts';
import { type Draft, EMPTY_DRAFT } from './studio-draft.ts';

/** A form that was kept in this browser, by the name of a template or the beginning of its prompt. */
export interface SavedDraft {
  readonly name: string;
  readonly draft: Draft;
}

/** `templates` are kept until they are deleted; `drafts` are the forms that were replaced last. */
export type Shelf = 'templates' | 'drafts';
const CAPACITY: Readonly<Record<Shelf, number>> = { templates: 50, drafts: 8 };
const MAX_NAME_LENGTH = 60;

const keyOf = (shelf: Shelf): string => `${DRAFT_KEY_PREFIX}.${shelf}`;

export function readSavedForms(shelf: Shelf): readonly SavedDraft[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(shelf)) ?? '[]');
    return Array.isArray(kept)
      ? kept.map(({ name, draft }: SavedDraft) => ({ name: String(name), draft: { ...EMPTY_DRAFT, ...draft } }))
      : [];
  } catch {
    return [];
  }
}

/** Puts a form on a shelf, in place of one of the same name. Uploaded pictures are not kept: a browser has little room. */
export function saveDraft(shelf: Shelf, draft: Draft, name = draft.prompt.trim()): void {
  const label = name.slice(0, MAX_NAME_LENGTH);
  if (label === '') return;
  const links = { ...draft, pictures: draft.pictures.filter(({ src }) => !src.startsWith('data:')) };
  const others = readSavedForms(shelf).filter((each) => each.name !== label);
  write(shelf, [{ name: label, draft: links }, ...others].slice(0, CAPACITY[shelf]));
}

export function removeSavedForm(shelf: Shelf, name: string): void {
  write(
    shelf,
    readSavedForms(shelf).filter((each) => each.name !== name),
  );
}

const write = (shelf: Shelf, saved: readonly SavedDraft[]): void =>
  localStorage.setItem(keyOf(shelf), JSON.stringify(saved));
