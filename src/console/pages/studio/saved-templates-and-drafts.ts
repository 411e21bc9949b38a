import { DRAFT_KEY_PREFIX } from '../../data/clear-stored-drafts.ts';
import { type Draft, EMPTY_DRAFT } from './draft-type-and-fit-to-model.ts';

/** A form that was kept in this browser, by the name of a template or the beginning of its prompt. */
export interface SavedDraft {
  readonly name: string;
  readonly draft: Draft;
}

/** `templates` are kept until they are deleted; `drafts` are the forms that were replaced last. */
export type SavedFormList = 'templates' | 'drafts';
const CAPACITY: Readonly<Record<SavedFormList, number>> = { templates: 50, drafts: 8 };
const MAX_NAME_LENGTH = 60;

const keyOf = (list: SavedFormList): string => `${DRAFT_KEY_PREFIX}.${list}`;

export function readSavedForms(list: SavedFormList): readonly SavedDraft[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(list)) ?? '[]');
    return Array.isArray(kept)
      ? kept.map(({ name, draft }: SavedDraft) => ({ name: String(name), draft: { ...EMPTY_DRAFT, ...draft } }))
      : [];
  } catch {
    return [];
  }
}

/** Adds a form to a list, in place of one of the same name. Uploaded pictures are not kept: a browser has little room. */
export function saveDraft(list: SavedFormList, draft: Draft, name = draft.prompt.trim()): void {
  const label = name.slice(0, MAX_NAME_LENGTH);
  if (label === '') return;
  const links = { ...draft, pictures: draft.pictures.filter(({ src }) => !src.startsWith('data:')) };
  const others = readSavedForms(list).filter((each) => each.name !== label);
  write(list, [{ name: label, draft: links }, ...others].slice(0, CAPACITY[list]));
}

export function removeSavedForm(list: SavedFormList, name: string): void {
  write(
    list,
    readSavedForms(list).filter((each) => each.name !== name),
  );
}

const write = (list: SavedFormList, saved: readonly SavedDraft[]): void =>
  localStorage.setItem(keyOf(list), JSON.stringify(saved));
