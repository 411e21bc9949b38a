import type { InputType } from '../../contract/generation-ways.ts';

/** Whether an id names an uploaded file; inputs may also name videos made here. */
export const isFileId = (id: string): boolean => id.startsWith('file-');

/** Type of an input made of a file; undefined for files that are none, such as JSONL. */
export const inputTypeOf = (mimeType: string): InputType | undefined =>
  (['image', 'video', 'audio'] as const).find((type) => mimeType.startsWith(`${type}/`));

const EXTENSIONS: Readonly<Record<InputType, RegExp>> = {
  image: /\.(?:png|jpe?g|webp|gif|bmp|tiff?)$/i,
  video: /\.(?:mp4|mov|webm|m4v)$/i,
  audio: /\.(?:mp3|wav|m4a|ogg)$/i,
};

/** Type by the name, where the browser knows none; the path of a URL counts too. */
export const inputTypeOfName = (name: string): InputType | undefined =>
  (['image', 'video', 'audio'] as const).find((type) => EXTENSIONS[type].test(name));

/** Value of `accept` for file inputs. */
export const ACCEPTED_MEDIA = 'image/*,video/mp4,video/quicktime,video/webm,audio/*,.m4a';

/**
 * Pasted files. Office programs copy a formatted text as an image of it too, where the text is meant. A file copied in a
 * file manager has its name as a text without format, an image of a page only a format.
 */
export const pastedFiles = ({ types, files }: DataTransfer): readonly File[] =>
  types.includes('text/plain') && types.includes('text/html') ? [] : [...files];

/** Reads a file as a `data:` URL; rejects if the file cannot be read. */
export const readAsDataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result : '');
    reader.onerror = () => reject(reader.error ?? new Error('the file could not be read'));
    reader.readAsDataURL(file);
  });
