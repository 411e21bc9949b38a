import { useTranslation } from 'react-i18next';
import { CodeSamplesDialog } from '../../components/code-samples-dialog.tsx';
import { useStatus } from '../../data/self.ts';
import { videoCodeSamples } from './video-code-samples.ts';

interface VideoCodeSamplesDialogProps {
  readonly body: Record<string, unknown>;
  readonly onClose: () => void;
}

/** The form's request as code in several languages. */
export default function VideoCodeSamplesDialog({ body, onClose }: VideoCodeSamplesDialogProps) {
  const { t } = useTranslation('studio');
  return (
    <CodeSamplesDialog
      title={t('codeTitle')}
      hint={t('codeHint')}
      samples={videoCodeSamples(body, location.origin, useStatus().data?.version)}
      onClose={onClose}
    />
  );
}
