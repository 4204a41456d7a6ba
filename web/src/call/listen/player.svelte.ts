// Plays the sound of a call: an audio element fetches it by byte ranges, Web Audio gives each side its own level.

import type { Direction } from '../../lib/types';

export interface Side {
  direction: Direction;
  muted: boolean;
  /** 0 to 2; 1 is as recorded. */
  level: number;
}

export const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2] as const;

export class Player {
  playing = $state(false);
  /** Seconds from the beginning of the recording. */
  at = $state(0);
  seconds = $state(0);
  speed = $state(1);
  /** Both sides in the middle, or the caller left and the callee right. */
  apart = $state(true);
  sides = $state<[Side, Side]>([
    { direction: 'caller_to_callee', muted: false, level: 1 },
    { direction: 'callee_to_caller', muted: false, level: 1 },
  ]);
  /** The piece that is played again and again. */
  loop = $state<{ from: number; until: number } | null>(null);
  /** It was asked to play and has nothing to play yet. */
  waiting = $state(false);
  /** Why nothing can be played: a name of the catalogue below `call.listen.error`. */
  error = $state<'network' | 'decode' | 'none' | null>(null);

  private element: HTMLAudioElement | null = null;
  private context: AudioContext | null = null;
  private gains: GainNode[] = [];
  private panners: StereoPannerNode[] = [];
  private frame = 0;

  constructor(private readonly address: string) {}

  private opened(): HTMLAudioElement {
    if (this.element) return this.element;
    const element = new Audio();
    element.preload = 'auto';
    element.src = this.address;
    element.addEventListener('loadedmetadata', () => {
      if (Number.isFinite(element.duration)) this.seconds = element.duration;
    });
    element.addEventListener('play', () => (this.playing = true));
    element.addEventListener('pause', () => (this.playing = false));
    element.addEventListener('waiting', () => (this.waiting = true));
    element.addEventListener('playing', () => (this.waiting = false));
    element.addEventListener('error', () => this.failed());
    element.addEventListener('timeupdate', () => (this.at = element.currentTime));
    this.element = element;
    return element;
  }

  private failed(): void {
    const code = this.element?.error?.code;
    this.error = code === MediaError.MEDIA_ERR_NETWORK ? 'network'
      : code === MediaError.MEDIA_ERR_DECODE ? 'decode' : 'none';
    this.playing = false;
    this.waiting = false;
  }

  /** Web Audio may only begin when somebody presses something. */
  private connect(element: HTMLAudioElement): void {
    if (this.context) return;
    const context = new AudioContext();
    const splitter = context.createChannelSplitter(2);
    context.createMediaElementSource(element).connect(splitter);
    this.sides.forEach((_, channel) => {
      const gain = context.createGain();
      const panner = context.createStereoPanner();
      splitter.connect(gain, channel);
      gain.connect(panner).connect(context.destination);
      this.gains.push(gain);
      this.panners.push(panner);
    });
    this.context = context;
    this.apply();
  }

  /** Passes levels and places on to the sound. Called after a change of them. */
  apply(): void {
    this.sides.forEach((side, channel) => {
      const gain = this.gains[channel]?.gain;
      if (gain && this.context) gain.setTargetAtTime(side.muted ? 0 : side.level, this.context.currentTime, 0.01);
      const pan = this.panners[channel]?.pan;
      if (pan) pan.value = this.apart ? (channel === 0 ? -1 : 1) : 0;
    });
    if (this.element) this.element.playbackRate = this.speed;
  }

  async play(): Promise<void> {
    const element = this.opened();
    this.error = null;
    this.connect(element);
    void this.context?.resume();
    this.apply();
    if (Math.abs(element.currentTime - this.at) > 0.05) element.currentTime = this.at;
    if (this.seconds > 0 && this.at >= this.seconds - 0.05) element.currentTime = this.loop?.from ?? 0;
    try {
      await element.play();
      this.follow();
    } catch (error) {
      // A pause before the sound was there is no failure.
      if (!(error instanceof DOMException && error.name === 'AbortError') && !this.error) this.failed();
    }
  }

  pause(): void {
    this.element?.pause();
  }

  toggle(): void {
    if (this.playing) this.pause();
    else void this.play();
  }

  /** Goes to a position, in seconds. */
  seek(seconds: number): void {
    this.at = Math.min(Math.max(seconds, 0), this.seconds || Math.max(seconds, 0));
    if (this.element) this.element.currentTime = this.at;
  }

  setSpeed(speed: number): void {
    this.speed = Math.min(Math.max(speed, 0.5), 2);
    this.apply();
  }

  /** The position moves with the picture, and a loop ends where it was marked rather than a quarter second later. */
  private follow(): void {
    cancelAnimationFrame(this.frame);
    const step = () => {
      const element = this.element;
      if (!element || element.paused) return;
      this.at = element.currentTime;
      if (this.loop && this.at >= this.loop.until) element.currentTime = this.loop.from;
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  /** Ends the download and the sound. */
  close(): void {
    cancelAnimationFrame(this.frame);
    this.element?.pause();
    this.element?.removeAttribute('src');
    this.element?.load();
    void this.context?.close();
    this.element = null;
    this.context = null;
    this.gains = [];
    this.panners = [];
  }
}
