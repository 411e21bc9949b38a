import { Button, Group, Text } from '@mantine/core';
import { type NavigateOptions, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useInvalidateQueries } from '../data/admin.ts';
import { ConfirmDialog } from './dialog.tsx';
import { Panel } from './panel.tsx';
import { useToasts } from './toasts.tsx';

interface DeleteButtonProps {
  /** The button's text. */
  readonly label: ReactNode;
  /** Title, consequences and final button of the question that is asked first. */
  readonly title: string;
  readonly text: string;
  readonly confirmLabel: string;
  /** Sends the request; an error of it is shown in the dialog. */
  readonly remove: () => Promise<unknown>;
  /** Shown when it is done. */
  readonly message: string;
  /** The list to return to, on the page of the object itself. A row of a list has none. */
  readonly listPage?: NavigateOptions['to'];
}

/** Deletes an object of the administration after a question, refetches the lists and confirms it. */
export function DeleteButton({ label, title, text, confirmLabel, remove, message, listPage }: DeleteButtonProps) {
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const navigate = useNavigate();
  const confirm = async (): Promise<void> => {
    await remove();
    // Leave first: the page of the deleted object would fetch it again and show an error.
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

/** The last section of an object's page: what deleting it means, and the button. */
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
