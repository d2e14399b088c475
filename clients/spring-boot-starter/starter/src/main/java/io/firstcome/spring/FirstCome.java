package io.firstcome.spring;

import io.firstcome.client.Late;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The method runs only for who gets a place in a campaign: a place is claimed first, or units are held.
 *
 * <pre>{@code
 * @FirstCome(campaign = "spring", subject = "#{#customer.id}")
 * public Order order(Customer customer) { … }
 * }</pre>
 *
 * <ul>
 * <li>Who wins, or has won before, runs the method. So it may run again for the same subject, after a crash for example:
 * write it so that this does no harm, or set {@link #again} to {@code false}.
 * <li>For everybody else it does not run, and the caller gets a {@link NotFirstException} with the outcome: a refusal such as
 * {@code SOLD_OUT}, or {@code Unknown}, which may have been won and is found out by calling again.
 * <li>A claim stays if the method throws; call it again, or cancel the claim. For what must be paid, hold.
 * <li>With {@link #quantity} or {@link #units} they are <b>held</b> while the method runs, <b>confirmed</b> when it
 * returns, and <b>released</b> when it throws. If the confirm fails, the method has run, and the caller gets a
 * {@link NotFirstException} with {@link NotFirstException#hasRun()}.
 * </ul>
 *
 * <p>The texts may have expressions of Spring in <code>#{…}</code>: <code>#name</code> is an argument of the method (compile with
 * {@code -parameters}), <code>#a0</code> the first one, {@code @name} a bean. An argument of the type {@code WonPlace},
 * {@code ClaimOutcome} or {@code Held} for which the caller gives {@code null} becomes what was won or held.
 *
 * <p>It works on public methods of Spring beans that are called from outside of the bean, around all other advice: a
 * transaction begins after the claim and has ended before the confirm.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface FirstCome {
    /**
     * The campaign.
     *
     * @return a name, or a text with expressions
     */
    String campaign();

    /**
     * Who gets the place.
     *
     * @return a subject, or a text with expressions
     */
    String subject();

    /**
     * The pool; needed if the campaign has several.
     *
     * @return a name, or a text with expressions; empty if there is one
     */
    String pool() default "";

    /**
     * How many units to hold while the method runs.
     *
     * @return 1 to 500; 0 to claim one unit, or to hold {@link #units}
     */
    int quantity() default 0;

    /**
     * Which seats to hold while the method runs.
     *
     * @return one expression that gives a name, or a collection or an array of names; empty if none
     */
    String units() default "";

    /**
     * What becomes of a confirm that comes after the hold expired. Set {@link Late#RETAKE} if the method takes money.
     *
     * @return the choice
     */
    Late late() default Late.REFUSE;

    /**
     * Whether the method also runs for a subject that has won before.
     *
     * @return {@code false} to run it only in the call that won; then nothing finishes the work of a call that crashed
     */
    boolean again() default true;
}
