import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import {
  type ChangeEvent,
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react';
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
  /**
   * The API's names of fields, with the labels of this form. An error that starts with one is shown at the field that
   * calls `useFieldError`, with the labels in place of the names.
   */
  readonly fields?: FieldLabels;
  /** Called with the API's name of the field, to open the section it is in. */
  readonly onFieldError?: (field: string) => void;
  readonly children: ReactNode;
}

type FieldLabels = Readonly<Record<string, string>>;
interface FieldError {
  readonly field: string;
  readonly text: string;
}
const FieldErrorContext = createContext<FieldError | undefined>(undefined);

/** The error of the last attempt to save, if it names this field of the API. */
export function useFieldError(field: string): string | undefined {
  const error = useContext(FieldErrorContext);
  return error?.field === field ? error.text : undefined;
}

/** A full-page form: its fields, the error of the last attempt, and the button. Enter submits it. */
export function SaveForm({
  submitLabel,
  save,
  disabled,
  hint,
  explain = (error) => error,
  fields = NO_FIELDS,
  onFieldError,
  children,
}: SaveFormProps) {
  const saving = useMutation({ mutationFn: save });
  const form = useRef<HTMLFormElement>(null);
  const error = saving.error === null ? undefined : explain(saving.error);
  const atField = error && toFieldError(error.message, fields);
  const reveal = useEffectEvent((field: string) => onFieldError?.(field));
  const failedField = saving.isError ? atField?.field : undefined;
  useEffect(() => {
    if (failedField === undefined) return;
    reveal(failedField);
    // On the next frame, when a section that was just opened is displayed.
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
  }, [failedField]);
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        saving.mutate();
      }}
    >
      <Stack>
        <FieldErrorContext value={atField}>{children}</FieldErrorContext>
        <ErrorAlert error={atField === undefined ? error : new Error(atField.text)} />
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

const NO_FIELDS: FieldLabels = {};

/** Reads `base_url must …` as an error of the field `base_url`, and replaces all names by labels. */
export function toFieldError(message: string, labels: FieldLabels): FieldError | undefined {
  const field = Object.keys(labels).find((name) => message.startsWith(name) && !/^\w/.test(message.slice(name.length)));
  if (field === undefined) return undefined;
  const text = Object.entries(labels).reduce((known, [name, label]) => known.replaceAll(name, label), message);
  return { field, text };
}

type TextInput = HTMLInputElement | HTMLTextAreaElement;
type KeysOf<Draft, Value> = { [Key in keyof Draft]: Draft[Key] extends Value ? Key : never }[keyof Draft];

/**
 * Form values with bindings for inputs: `text` for text inputs, `value` for inputs that emit their value (numbers,
 * selects), `checked` for switches. There are no validation rules here: inputs declare their constraints and the server
 * checks them.
 *
 * @param onEdit called with every change
 */
export function useFormValues<Draft extends object>(initial: Draft | (() => Draft), onEdit?: () => void) {
  const [draft, setDraft] = useState(initial);
  const set = (part: Partial<Draft>): void => {
    onEdit?.();
    setDraft((known) => ({ ...known, ...part }));
  };
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

/**
 * The version of an object that the form on its page edits: the newest until something is entered, which a refetch must
 * not replace, and again once that is saved.
 */
export function useEditedVersion<Row>(newest: Row) {
  const [edited, setEdited] = useState<Row>();
  return {
    version: edited ?? newest,
    onEdit: () => setEdited((known) => known ?? newest),
    onSaved: () => setEdited(undefined),
  };
}

/** The fields that differ. A form sends only these: the others may have been changed by somebody else meanwhile. */
export const changedFields = <Body extends object>(body: Body, before: Partial<Body>): Partial<Body> =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Body]),
    ),
  ) as Partial<Body>;

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
