import type { Picture } from './draft.ts';

const TYPES = ['image/png', 'image/jpeg', 'image/webp'];
export const ACCEPTED = TYPES.join(',');
/** What most vendors take at most. */
export const MAX_BYTES = 10 * 1024 * 1024;

export type PictureProblem = 'type' | 'size';

/** Reads a dropped, pasted or picked file. Throws the problem with it. */
export async function readPicture(file: File): Promise<Picture> {
  if (!TYPES.includes(file.type)) throw toProblem('type');
  if (file.size > MAX_BYTES) throw toProblem('size');
  const src = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result : '');
    reader.onerror = () => reject(reader.error ?? new Error('the file could not be read'));
    reader.readAsDataURL(file);
  });
  return { src, name: file.name };
}

const toProblem = (problem: PictureProblem): Error => new Error(problem);

export const isLink = (text: string): boolean => /^https?:\/\/\S+$/i.test(text.trim());

/** Pictures among what was dropped or pasted. */
export const filesOf = (data: DataTransfer | null): File[] =>
  [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
