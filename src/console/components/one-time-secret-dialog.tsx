import type { ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

interface OneTimeDialogProps {
  readonly title: string;
  readonly size?: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Shows a secret that cannot be shown again: neither Escape nor a click beside it closes it by accident. */
export function OneTimeSecretDialog(props: OneTimeDialogProps) {
  return <Dialog staysOpen {...props} />;
}
