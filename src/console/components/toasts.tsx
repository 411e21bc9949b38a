import { CloseButton, Group, Paper, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react';
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { useTranslation } from 'react-i18next';

interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
}
interface Toasts {
  /** Confirms an action the user has completed. */
  success(text: string): void;
  error(text: string): void;
}

const Context = createContext<Toasts>({ success: () => {}, error: () => {} });
/** Functions that show toasts. */
export const useToasts = (): Toasts => useContext(Context);

const DURATION_MS = { done: 4_000, failed: 9_000 } as const;
const MAX_TOASTS = 3;

/** Short-lived confirmations at the edge of the screen, announced by screen readers. */
export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const { t } = useTranslation();
  const [toasts, setNotices] = useState<readonly Toast[]>([]);
  const next = useRef(1);
  const drop = useCallback((id: number) => setNotices((all) => all.filter((each) => each.id !== id)), []);
  const tell = useCallback(
    (kind: Toast['kind'], text: string) => {
      const id = next.current++;
      setNotices((all) => [...all.slice(1 - MAX_TOASTS), { id, kind, text }]);
      setTimeout(() => drop(id), DURATION_MS[kind]);
    },
    [drop],
  );
  const value = useMemo<Toasts>(
    () => ({ success: (text) => tell('done', text), error: (text) => tell('failed', text) }),
    [tell],
  );
  return (
    <Context.Provider value={value}>
      {children}
      {/* Mantine renders its portal a second time before the first paint. */}
      {createPortal(
        <Stack
          className="toasts"
          pos="fixed"
          right={16}
          maw="calc(100vw - 32px)"
          w={360}
          gap="xs"
          style={{ zIndex: 400 }}
          role="status"
          aria-live="polite"
        >
          {toasts.map(({ id, kind, text }) => (
            <Paper key={id} withBorder shadow="md" p="sm" radius="md">
              <Group wrap="nowrap" gap="sm" align="flex-start">
                {kind === 'done' ? (
                  <IconCheck size={18} color="var(--mantine-color-teal-6)" />
                ) : (
                  <IconAlertTriangle size={18} color="var(--mantine-color-red-6)" />
                )}
                <Text size="sm" flex={1} style={{ overflowWrap: 'anywhere' }}>
                  {text}
                </Text>
                <CloseButton size="sm" aria-label={t('close')} onClick={() => drop(id)} />
              </Group>
            </Paper>
          ))}
        </Stack>,
        document.body,
      )}
    </Context.Provider>
  );
}
