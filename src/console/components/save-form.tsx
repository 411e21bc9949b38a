import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorAlert } from './error-alert.tsx';

interface SaveFormProps {
  readonly submitLabel: string;
  readonly save: () => Promise<void>;
  readonly disabled?: boolean;
  /** Beside the button: what saving changes. */
  readonly hint?: string;
  /** Turns an error of this form into one that explains how to resolve it. */
  readonly explain?: (error: Error) => Error;
  readonly children: ReactNode;
}

/** A form that fills a page: its fields, why it could not be saved, and the button. Enter submits it. */
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
