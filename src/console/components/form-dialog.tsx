import { Button, Group, Stack } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from './dialog.tsx';
import { ErrorAlert } from './error-alert.tsx';

interface FormDialogProps {
  readonly title: string;
  readonly submitLabel: string;
  /** The mutation that submitting starts. Its error is shown in the dialog. */
  readonly save: Pick<UseMutationResult<unknown, Error, void>, 'isPending' | 'error' | 'mutate'>;
  /** Why the form itself could not be loaded. */
  readonly error?: unknown;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly disabled?: boolean;
}

/** A small form over the page; Enter sends it, Escape leaves. */
export function FormDialog({ title, submitLabel, save, error, onClose, children, disabled = false }: FormDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Stack>
          {children}
          <ErrorAlert error={save.error ?? error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={save.isPending} disabled={disabled}>
              {submitLabel}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
