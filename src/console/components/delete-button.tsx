import { Button, Group, Text } from '@mantine/core';
import { type NavigateOptions, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useInvalidateQueries } from '../data/admin.ts';
import { ConfirmDialog } from './dialog.tsx';
import { Panel } from './panel.tsx';
import { useToasts } from './toasts.tsx';

interface DeleteButtonProps {
  /** The button's content. */
  readonly label: ReactNode;
  /** Title of the confirmation dialog. */
  readonly title: string;
  readonly text: string;
  readonly confirmLabel: string;
  /** Sends the request; an error is shown in the dialog. */
  readonly remove: () => Promise<unknown>;
  /** Toast shown on success. */
  readonly message: string;
  /** List to navigate to after deletion, on an object's own page; undefined in a list's row. */
  readonly listPage?: NavigateOptions['to'];
}

/** Deletes an admin resource after confirmation, refetches the lists and shows a toast. */
export function DeleteButton({ label, title, text, confirmLabel, remove, message, listPage }: DeleteButtonProps) {
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const navigate = useNavigate();
  const confirm = async (): Promise<void> => {
    await remove();
    // Navigate first: the page of the deleted object would refetch it and show an error.
    if (listPage !== undefined) await navigate({ to: listPage });
    await invalidate();
    toasts.success(message);
  };
  return (
    <ConfirmDialog
      title={title}
      confirmLabel={confirmLabel}
      onConfirm={confirm}
      trigger={(open) => (
        <Button
          size={listPage === undefined ? 'compact-sm' : 'sm'}
          variant={listPage === undefined ? 'subtle' : 'light'}
          color="red"
          onClick={open}
        >
          {label}
        </Button>
      )}
    >
      {text}
    </ConfirmDialog>
  );
}

/** Last section of an object's page: explains what deletion means, and has the button. */
export function DeletePanel({ heading, ...button }: Omit<DeleteButtonProps, 'label'> & { readonly heading: string }) {
  return (
    <Panel title={heading}>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={560}>
          {button.text}
        </Text>
        <DeleteButton {...button} label={heading} />
      </Group>
    </Panel>
  );
}
