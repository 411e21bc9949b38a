import { Code, Modal, ScrollArea, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Copy } from '../../parts/copy.tsx';
import { toCommand, toCurl, toSdk } from './code.ts';

/** The request of the form as curl, SDK and command line. */
export function CodeDialog({
  body,
  onClose,
}: {
  readonly body: Record<string, unknown>;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation(['studio', 'shell']);
  const kinds = {
    curl: toCurl(body, location.origin),
    SDK: toSdk(body, location.origin),
    CLI: toCommand(body, location.origin),
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('studio:codeTitle')}
      size="lg"
      closeButtonProps={{ 'aria-label': t('shell:close') }}
    >
      <Text size="sm" c="dimmed" mb="sm">
        {t('studio:codeHint')}
      </Text>
      <Tabs defaultValue="curl">
        <Tabs.List mb="sm">
          {Object.keys(kinds).map((kind) => (
            <Tabs.Tab key={kind} value={kind}>
              {kind}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(kinds).map(([kind, text]) => (
          <Tabs.Panel key={kind} value={kind} pos="relative">
            <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0 }}>
              <Code block pr={44}>
                {text}
              </Code>
            </ScrollArea.Autosize>
            <div style={{ position: 'absolute', top: 6, right: 6 }}>
              <Copy text={text} />
            </div>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Modal>
  );
}
