import { ActionIcon, Code, Group } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';

/** How long a button says that it has copied. */
const COPIED_MS = 1_500;

interface CopyButtonProps {
  readonly value: string;
  /** Renders the button. */
  readonly children: (state: { readonly copied: boolean; readonly copy: () => void }) => ReactNode;
}

/** Copies a text, and says so for a moment. */
export function CopyButton({ value, children }: CopyButtonProps) {
  const [copies, setCopies] = useState(0);
  const copy = async (): Promise<void> => {
    if (!(await writeClipboard(value))) return;
    setCopies((count) => count + 1);
    setTimeout(() => setCopies((count) => count - 1), COPIED_MS);
  };
  return children({ copied: copies > 0, copy: () => void copy() });
}

/**
 * Over plain http browsers have no Clipboard API, only the command that copies a selection.
 *
 * @returns whether the text was copied
 */
async function writeClipboard(text: string): Promise<boolean> {
  const clipboard: Clipboard | undefined = navigator.clipboard;
  if (clipboard !== undefined)
    return clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const { activeElement } = document;
  const field = Object.assign(document.createElement('textarea'), { value: text });
  // Beside the button, because a dialog keeps the focus inside itself.
  (activeElement?.parentElement ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (activeElement instanceof HTMLElement) activeElement.focus();
  return isCopied;
}

interface CopyProps {
  readonly text: string;
  readonly label?: string | undefined;
  /** Takes the focus when it appears: copying is the next step. */
  readonly focused?: boolean;
}

/** A button that copies a text. */
export function CopyIconButton({ text, label, focused = false }: CopyProps) {
  const { t } = useTranslation();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon
          // For a dialog that opens with it, and for one whose content changes to it.
          data-autofocus={focused || undefined}
          autoFocus={focused}
          data-hint={copied ? t('copied') : (label ?? t('copy'))}
          onClick={copy}
          aria-label={label ?? t('copy')}
          color={copied ? 'teal' : 'gray'}
        >
          {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
        </ActionIcon>
      )}
    </CopyButton>
  );
}

/** A secret or a setting with a copy button. */
export function CopyField({ text, label, focused }: CopyProps) {
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Code fz="sm" px="sm" py={6} style={{ overflowWrap: 'anywhere', userSelect: 'all' }}>
        {text}
      </Code>
      <CopyIconButton text={text} label={label} focused={focused} />
    </Group>
  );
}

/** Shows untrusted external data as plain text, limited in height with a scroll bar. */
export function JsonView({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div style={{ position: 'relative' }}>
      <Code block mah={320} tabIndex={0} style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
      <div style={{ position: 'absolute', top: 4, right: 4 }}>
        <CopyIconButton text={text} />
      </div>
    </div>
  );
}
