import { readFileAsDataUrl } from '../../data/data-url.ts';
import type { ImageInput } from './draft.ts';

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp'];
/** Value of `accept` for file inputs. */
export const ACCEPTED_TYPES = IMAGE_TYPES.join(',');
/** Size limit of most vendors. */
const MAX_BYTES = 10 * 1024 * 1024;

type ImageProblem = 'type' | 'size';

/** Reads an image file that was dropped, pasted or selected. @throws Error with the reason the file is unusable */
export async function readImage(file: File): Promise<ImageInput> {
  if (!IMAGE_TYPES.includes(file.type)) throw toProblem('type');
  if (file.size > MAX_BYTES) throw toProblem('size');
  const src = await readFileAsDataUrl(file);
  return { src, name: file.name };
}

const toProblem = (problem: ImageProblem): Error => new Error(problem);

/** Whether a text is an http(s) URL. */
export const isLink = (text: string): boolean => /^https?:\/\/\S+$/i.test(text.trim());

/** Images in dropped or pasted data. */
export const imageFilesOf = (data: DataTransfer | null): File[] =>
  [...(data?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
