import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ChangeEvent, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useInvalidateQueries } from '../data/admin.ts';
import { ErrorAlert } from './error-alert.tsx';
import { useToasts } from './toasts.tsx';

interface SaveFormProps {
  readonly submitLabel: string;
  readonly save: () => Promise<void>;
  readonly disabled?: boolean;
  /** Text next to the button: the effect of saving. */
  readonly hint?: string;
  /** Maps an error of this form to one that explains the remedy. */
  readonly explain?: (error: Error) => Error;
  readonly children: ReactNode;
}

/** A full-page form: its fields, the error of the last attempt, and the button. Enter submits it. */
export function SaveForm({ submitLabel, save, disabled, hint, explain = (error) => error, children }: SaveFormProps) {
  const saving = useMutation({ mutationFn: save });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <Stack>
        {children}
        <ErrorAlert error={saving.error === null ? null : explain(saving.error)} />
        <Group justify={hint === undefined ? 'flex-end' : 'space-between'}>
          {hint === undefined ? null : (
            <Text size="xs" c="dimmed">
              {hint}
            </Text>
          )}
          <Button type="submit" loading={saving.isPending} disabled={disabled}>
            {submitLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type TextInput = HTMLInputElement | HTMLTextAreaElement;
type KeysOf<Draft, Value> = { [Key in keyof Draft]: Draft[Key] extends Value ? Key : never }[keyof Draft];

/**
 * Form values with bindings for inputs: `text` for text inputs, `value` for inputs that emit their value (numbers,
 * selects), `checked` for switches. There are no validation rules here: inputs declare their constraints and the server
 * checks them.
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

interface SaveAndCloseOptions {
  readonly onClose: () => void;
  /** Success toast; "Saved" by default. */
  readonly message?: string;
}

/** Submit action of an admin dialog: saves, refetches the visible data, shows a toast and closes the dialog. */
export function useSaveAndClose(save: () => Promise<unknown>, { onClose, message }: SaveAndCloseOptions) {
  const { t } = useTranslation();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  return useMutation({
    mutationFn: save,
    onSuccess: async () => {
      await invalidate();
      toasts.success(message ?? t('saved'));
      onClose();
    },
  });
}
