import { type ChangeEvent, useState } from 'react';

type TextInput = HTMLInputElement | HTMLTextAreaElement;
type KeysOf<Draft, Value> = { [Key in keyof Draft]: Draft[Key] extends Value ? Key : never }[keyof Draft];

/**
 * The values of a form, and what binds an input to one of them: `text` for inputs of text, `value` for those that hand over
 * their value (numbers, selects), `checked` for switches. The inputs state the constraints on a value and the server
 * checks them, so this hook has no validation rules.
 */
export function useFormValues<Draft extends object>(initial: Draft | (() => Draft)) {
  const [draft, setDraft] = useState(initial);
  const set = (part: Partial<Draft>): void => setDraft((known) => ({ ...known, ...part }));
  return {
    draft,
    set,
    text: (name: KeysOf<Draft, string>) => ({
      value: draft[name] as string,
      onChange: (event: ChangeEvent<TextInput>) => set({ [name]: event.currentTarget.value } as Partial<Draft>),
    }),
    value: <Name extends keyof Draft>(name: Name) => ({
      value: draft[name],
      onChange: (next: Draft[Name]) => set({ [name]: next } as unknown as Partial<Draft>),
    }),
    checked: (name: KeysOf<Draft, boolean>) => ({
      checked: draft[name] as boolean,
      onChange: (event: ChangeEvent<HTMLInputElement>) =>
        set({ [name]: event.currentTarget.checked } as Partial<Draft>),
    }),
  };
}
