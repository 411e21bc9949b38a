import { Code, Modal, ScrollArea, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from '../../components/copy-button.tsx';
import { toCliCommand, toCurl, toNodeSample, toPythonSample } from './code-samples.ts';

/** The request of the form as a program in several languages. */
export default function CodeSamplesDialog({
  body,
  onClose,
}: {
  readonly body: Record<string, unknown>;
  readonly onClose: () => void;
}) {
  const { t } = useTranslation(['studio', 'app']);
  const samples = {
    curl: toCurl(body, location.origin),
    Python: toPythonSample(body, location.origin),
    'Node.js': toNodeSample(body, location.origin),
    CLI: toCliCommand(body, location.origin),
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('codeTitle')}
      size="lg"
      closeButtonProps={{ 'aria-label': t('app:close') }}
    >
      <Text size="sm" c="dimmed" mb="sm">
        {t('codeHint')}
      </Text>
      <Tabs defaultValue="curl">
        <Tabs.List mb="sm">
          {Object.keys(samples).map((kind) => (
            <Tabs.Tab key={kind} value={kind}>
              {kind}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(samples).map(([kind, text]) => (
          <Tabs.Panel key={kind} value={kind} pos="relative">
            <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0 }}>
              <Code block pr={44}>
                {text}
              </Code>
            </ScrollArea.Autosize>
            <div style={{ position: 'absolute', top: 6, right: 6 }}>
              <CopyIconButton text={text} />
            </div>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Modal>
  );
}
