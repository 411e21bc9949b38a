import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { InputRole, InputType } from '../../../contract/generation-ways.ts';
import { randomId } from '../../../contract/random-id.ts';
import { ReelgateError } from '../../../sdk/errors.ts';
import { useToasts } from '../../components/toasts.tsx';
import { type UploadQueue, useUploadQueue } from '../../components/upload-queue.ts';
import { inputTypeOf, inputTypeOfName, readAsDataUrl } from '../../data/media-types.ts';
import type { UsableModel } from '../../data/self.ts';
import type { ChangeDraft, Draft } from './draft.ts';
import { addInput, type DraftInput, type InputCheck, type InputSource } from './inputs.ts';

/** Uploads of the form's inputs, by their keys. */
export interface InputUploads extends UploadQueue {
  /** Adds files as inputs and uploads them. @param role replaces the input with this role */
  add(files: readonly File[], role?: InputRole): void;
  /** Replaces the file of an input. */
  replace(input: DraftInput, file: File): void;
}

/** Inputs of a form and the functions that change them. */
export interface InputListProps {
  readonly model: UsableModel;
  readonly draft: Pick<Draft, 'inputs' | 'operation' | 'prompt'>;
  readonly check: InputCheck;
  readonly uploads: InputUploads;
  readonly change: ChangeDraft;
}

/** Largest image that is sent by value where the service stores no files. */
const MAX_INLINE_BYTES = 10 * 1024 * 1024;

/** Type of a file; undefined for a file no model takes. */
const typeOfFile = (file: File): InputType | undefined => inputTypeOf(file.type) ?? inputTypeOfName(file.name);

/** Uploads files and puts them into the draft. */
export function useInputUploads(model: UsableModel | undefined, change: ChangeDraft): InputUploads {
  const { t } = useTranslation('studio');
  const toasts = useToasts();
  const used = useRef(model);
  used.current = model;
  const put = (key: string, source: InputSource): void =>
    change(({ inputs }) => ({ inputs: inputs.map((each) => (each.key === key ? { ...each, source } : each)) }));
  const queue = useUploadQueue({
    onDone: (key, { id }) => put(key, { file_id: id }),
    async onError(key, error, file) {
      const isOff = error instanceof ReelgateError && error.code === 'files_disabled';
      if (!isOff || typeOfFile(file) !== 'image' || file.size > MAX_INLINE_BYTES) return false;
      put(key, { data: await readAsDataUrl(file) });
      return true;
    },
  });
  return {
    ...queue,
    add(files, role) {
      const added = files.flatMap((file) => {
        const type = typeOfFile(file);
        return type === undefined ? [] : [{ key: randomId(), file, type }];
      });
      if (added.length < files.length) toasts.error(t('fileType'));
      change(({ inputs, operation }) => {
        let all = inputs.filter((each) => role === undefined || each.role !== role);
        for (const { key, file, type } of added) {
          const input = { key, type, name: file.name, bytes: file.size };
          all = role === undefined ? [...addInput(all, input, used.current, operation)] : [{ ...input, role }, ...all];
        }
        return { inputs: all };
      });
      for (const { key, file } of added) queue.begin(key, file);
    },
    replace({ key: replaced, type, role, at }, file) {
      if (typeOfFile(file) !== type) {
        toasts.error(t('fileType'));
        return;
      }
      queue.cancel(replaced);
      const next = { key: randomId(), type, role, at, name: file.name, bytes: file.size };
      change(({ inputs }) => ({ inputs: inputs.map((each) => (each.key === replaced ? next : each)) }));
      queue.begin(next.key, file);
    },
  };
}
